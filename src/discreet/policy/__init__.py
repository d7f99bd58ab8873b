"""What is secret: one file per detector, the algebra that combines them, and measuring a policy."""

from discreet.callable_module import make_callable

make_callable(__name__, "discreet.policy.specs")
