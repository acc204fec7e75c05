"""Which knobs of a generator give a wanted pass rate: what is known of each setting, and which to sample next."""
