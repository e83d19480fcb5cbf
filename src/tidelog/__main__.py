"""`python -m tidelog` is the command line `tidelog`."""

from tidelog.cli import run_process

run_process()
