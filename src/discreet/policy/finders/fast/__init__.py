"""The finders that read most of the text, compiled: for streams of many records, where they find what the others find.

Each file here says the same as a file of `finders` in loops over numbers: `stretches` as `finders.stretches`, `runs` as
`finders.people`, `asking` as `finders.asking`. What is rare, and what only Python knows about other letters, is left
to those. Others import `loading` only, which loads the rest when a stream has grown long enough to pay for numba.
"""
