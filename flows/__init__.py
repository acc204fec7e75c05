"""What runs, in which order and when. Only this folder knows Prefect."""
