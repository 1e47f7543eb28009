package tokens

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Certificate is what Determined's client was told to trust for a master, in PEM:
// its file certs.json maps canonical addresses to certificates. A file that is
// not there or damaged trusts nobody.
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
