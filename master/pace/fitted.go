package pace

// fitted are the parameters that TestParameters finds.
func fitted() parameters {
	return parameters{trend: 0.5, slow: 1.5, base: 0.02, uneven: 0.5, unseen: 0.1, low: -1.645, high: 1.645}
}
