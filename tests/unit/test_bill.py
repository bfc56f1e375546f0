"""What requests cost: the arithmetic, the words, and what is not known."""

from paicli.llm.bill import Bill, Item
from paicli.llm.messages import Usage
from paicli.llm.prices import Prices
from paicli.session import spending
from paicli.session.ledger import Header, Ledger

YUAN = Prices(input=2, output=8, cached=0.5, currency="¥")


def test_cached_tokens_cost_their_own_price():
    assert YUAN.of(1_000_000, 100_000, 400_000) == 1.2 + 0.2 + 0.8
    assert YUAN.of(10, 0, 999) == 10 * 0.5 / 1e6  # a server that counts nonsense


def test_a_sum_is_said_in_a_few_characters():
    bill = Bill()
    assert (bill.text(), bill.as_object()) == ("", None)
    bill.add(Usage(100), YUAN)
    assert bill.text() == "¥0.0002"
    bill.add(Usage(1_000_000), YUAN)
    assert (bill.text(), bill.tokens) == ("¥2.00", Usage(1_000_100))
    assert bill.as_object() == {"amount": 2.0002, "currency": "¥"}


def test_what_has_no_price_is_not_hidden():
    bill = Bill()
    bill.add(Usage(1_000_000), YUAN)
    bill.add(None, YUAN)
    assert (bill.text(), bill.as_object()) == ("≥¥2.00", None)
    bill.add(Usage(1_000_000), Prices(3, 3, 3, "$"))
    assert bill.text() == "≥¥2.00 + $3.00"


def test_a_session_remembers_what_it_cost(tmp_path):
    ledger = Ledger(tmp_path / "s.jsonl", Header("s", "/", "m", 0.0))
    bill = Bill(lambda item: spending.record(ledger, item))
    bill.add(Usage(1_000_000, 10, 5), YUAN)
    bill.add(Usage(7), None)
    ledger.close()
    with ledger.path.open("ab") as file:
        file.write(b'{"type":"event","name":"spent","input":"x"}\n{"type":"event"')
    again = Bill()
    again.begin(spending.recorded(ledger.path))
    assert (again.text(), again.tokens) == (bill.text(), bill.tokens)
    assert list(spending.recorded(tmp_path / "none")) == []
    again.begin([Item(Usage(1), 0.5, "$")])
    assert again.text() == "$0.50"
