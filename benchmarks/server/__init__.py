"""`tidelog serve` under load: `python -m benchmarks.server`."""
