"""Metric-DP perturbation: words exchanged for others near them in an embedding. See `perturb.run`."""
