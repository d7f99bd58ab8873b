"""The same work on many processes or machines, with Ray: same output as the local engine, row for row."""
