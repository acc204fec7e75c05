"""Where a store lives and who may write to it: folders and object storage, locks, leases."""
