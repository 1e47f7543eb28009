package tokens

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Certificate returns the PEM certificate that Determined's client trusts for a master: its
// file certs.json maps canonical addresses to certificates. A missing or damaged file contains
// none.
func Certificate(dir, master string) []byte {
	text, err := os.ReadFile(filepath.Join(dir, "certs.json"))
	if err != nil {
		return nil
	}
	var certs map[string]string
	if json.Unmarshal(text, &certs) != nil {
		return nil
	}
	return []byte(certs[master])
}
