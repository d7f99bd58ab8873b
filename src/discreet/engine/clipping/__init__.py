"""Exact per-record clipping in one backward pass.

A step of DP-SGD needs, for every record, the norm of its gradient over all parameters, and then the sum of the
gradients scaled down to the clip norm. The gradients themselves are never needed, and B of them would not fit.

1. `tape`: the parameters are frozen for the pass, so autograd computes gradients of activations only. Layer rules
   (`discreet.engine.layers`) hand the tape each layer's input x and the gradient g of its output.
2. `pieces`: a weight's per-record gradient is g^T x. Its norm is found from x and g by the cheaper of two ways
   (`costs`), and a parameter used twice, like tied embeddings, gets its cross term.
3. `strategies`: norms become one factor for each record.
4. The clipped sum is one matrix product for each layer, with the factors on x, added onto the caller's buffers.
   Weight gradients are computed once, already clipped.

`trial` checks, before any of this is believed, that the rules agree with autograd on this very model, and `fallback`
is the exact and slow way for models they do not fit. Everything is joined in `clipped`.
"""
