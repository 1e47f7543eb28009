package v1

// Version is Detent's own, of all of its programs. Compatible is the release of
// Determined whose interface they speak, which its clients compare with theirs.
const (
	Version    = "0.1.0"
	Compatible = "0.38.1"
)
