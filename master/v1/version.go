package v1

// Version is the version of all programs of Detent. Compatible is the release of Determined
// whose API Detent implements; Determined's clients compare it with their own version.
const (
	Version    = "0.1.0"
	Compatible = "0.38.1"
)
