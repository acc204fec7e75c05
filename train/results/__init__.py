"""What training did to held-out reward."""
