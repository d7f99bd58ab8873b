"""One file for each kind of layer: how its per-record gradients are found (see `discreet.engine.clipping.contract`)."""
