"""`make test` runs one test of each file of tests/spark, but for those whose tests all start processes."""

from __future__ import annotations

from pathlib import Path

SPARK = Path(__file__).parents[1] / "spark"
WITHOUT = {
    "cluster/test_driver.py",
    "cluster/test_killed.py",
    "test_killed.py",
    "test_lost_processes.py",
    "test_sessions.py",  # Its suite has the mark.
    "test_speculation.py",
}


def test_each_file_of_spark_has_a_smoke_test() -> None:
    lacking = {
        str(file.relative_to(SPARK))
        for folder in (SPARK, SPARK / "cluster")
        for file in folder.glob("test_*.py")
        if "pytest.mark.smoke" not in file.read_text("utf-8")
    }
    assert lacking == WITHOUT
