"""Instructions that a program can check, as prompts of IFEval have them: their kinds, and the judge of them all."""
