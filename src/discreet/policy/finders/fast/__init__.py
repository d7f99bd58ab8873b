"""The finders that read most of the text, compiled: for streams of many records, where they find what the others find.

Each file here says the same as a file of `finders` in loops over numbers: `stretches` as `finders.stretches`, `runs` as
`finders.people`, `asking` as `finders.asking`. What is rare, and what only Python knows about letters beyond ASCII, is
left to those. Only `discreet.policy.finders.fast.reading` is imported by others, when a stream has grown long enough to
pay for loading numba.
"""
