"""What the training benchmark measures against, and in which processes."""
