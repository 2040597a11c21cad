"""What is stored and what a job did, as every screen shows it."""
