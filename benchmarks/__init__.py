"""Speed and quality, measured against peers in the same run. `make bench` runs them all."""
