"""Reports of what other agents got wrong, replayed through the real program."""

import pytest

from tests.integration.file_cases import rows
from tests.integration.reports import meets, replay, ways


def replays():
    found = []
    for row in rows("reports.jsonl"):
        report = row.values[0]
        if report is None:
            return [pytest.param(None, "", marks=row.marks)]
        found += [pytest.param(report, way, id=f"{report['id']}-{way}") for way in ways(report)]
    return found


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("report", "way"), replays())
def test_a_report(report, way, tmp_path):
    for play in replay(report, way, tmp_path):
        for expectation in report["expect"]:
            assert meets(expectation, play), (expectation, play.shown)
