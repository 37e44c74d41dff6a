"""Pictures made here: drawn shapes with a known truth, and the PNG files that hold them."""
