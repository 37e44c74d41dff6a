"""Training on soft labels, and what can be said of a trained network only with its gradients."""
