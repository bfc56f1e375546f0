"""A value is what a frozen dataclass with slots is."""

from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from paicli.values import value


@value
class Point:
    """A place."""

    x: int
    y: int = 7

    def doubled(self):
        return Point(self.x * 2, self.y * 2)


@value
class Place:
    x: int
    y: int = 7


@value
class Rich:
    name: str
    secret: str = field(default="", repr=False)
    tags: dict[str, int] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list, init=False, repr=False, compare=False)


@value
class Nothing:
    pass


def test_it_is_made_as_a_function_is_called():
    assert (Point(1).x, Point(1).y) == (1, 7)
    assert (Point(x=1, y=2).x, Point(1, y=2).y) == (1, 2)
    for wrong in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="__init__"):
            Point(*wrong)
    with pytest.raises(TypeError, match="z"):
        Point(1, z=2)
    assert Nothing() == Nothing()


def test_equal_are_those_of_one_class_with_one_content():
    assert Point(1) == Point(1, 7)
    assert Point(1) != Point(2)
    assert Point(1) != Place(1)
    assert Point(1) != (1, 7)
    assert len({Point(1), Point(1), Point(2), Place(1)}) == 3


def test_it_cannot_be_changed():
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises(FrozenInstanceError):
        point.other = 2
    assert point == Point(1)
    assert not hasattr(point, "__dict__")


def test_it_says_what_it_is_but_no_secret():
    assert repr(Point(1)) == "Point(x=1, y=7)"
    assert repr(Rich("a", "hidden")) == "Rich(name='a', tags={})"


def test_each_gets_a_default_of_its_own():
    one, other = Rich("a"), Rich("a")
    one.tags["t"] = 1
    one.kept.append(1)
    assert (other.tags, other.kept) == ({}, [])
    assert Rich("a", tags={"t": 1}) == one
    with pytest.raises(TypeError, match="kept"):
        Rich("a", kept=[])


def test_it_can_be_matched_by_place():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert Rich.__match_args__ == ("name", "secret", "tags")


def test_methods_and_words_stay():
    assert Point(1, 2).doubled() == Point(2, 4)
    assert (Point.__doc__, Point.__name__, Point.__module__) == ("A place.", "Point", __name__)


def test_it_agrees_with_a_dataclass():
    @dataclass(frozen=True, slots=True)
    class Other:
        """The same."""

        a: int
        b: str = "x"
        c: tuple[int, ...] = ()

    made = value(type("Other", (), {"__annotations__": Other.__annotations__, "b": "x", "c": ()}))
    for arguments in ((1,), (1, "y"), (1, "y", (2,))):
        assert asdict(made(*arguments)) == asdict(Other(*arguments))
    assert made.__slots__ == Other.__slots__
    assert made.__match_args__ == Other.__match_args__
    assert [f.name for f in fields(made)] == [f.name for f in fields(Other)]


def test_it_can_be_replaced():
    assert replace(Point(1), y=3) == Point(1, 3)
    assert replace(Rich("a", "s"), tags={"t": 1}) == Rich("a", "s", {"t": 1})
