import pytest

from tests.integration.program import Program


@pytest.fixture
def paicli(tmp_path):
    """The program, in an empty project and an empty home."""
    program = Program(tmp_path)
    yield program
    program.clear_away()
