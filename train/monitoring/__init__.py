"""What training steps tell while they go by."""
