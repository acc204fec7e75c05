"""Which pass rate is expected of a prompt before its first rollout."""
