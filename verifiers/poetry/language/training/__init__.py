"""The training of the poetry verifier's language model (`verifiers/poetry/language/model.json`)."""
