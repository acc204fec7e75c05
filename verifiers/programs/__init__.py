"""Programs against test cases, run in a child process with limits. Not a sandbox: see `verifier.NOTICE`."""
