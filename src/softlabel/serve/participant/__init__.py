"""What participants see: pages, the task's interface, sessions, and the items given out."""
