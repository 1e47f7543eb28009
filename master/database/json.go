package database

// JSONOrNull returns the argument for a JSON column: text, or NULL for nil. The driver would encode
// a slice of bytes as base64.
func JSONOrNull(b []byte) *string {
	if len(b) == 0 {
		return nil
	}
	s := string(b)
	return &s
}
