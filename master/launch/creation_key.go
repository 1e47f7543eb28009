package launch

import "github.com/detent-ml/detent/master/fault"

// KeyHeader carries a name that a client gave to its request to make something. One whose
// answer was lost is sent again with the same key, and gets what the first one made.
const KeyHeader = "Idempotency-Key"

const maxCreationKey = 200

// creationKey checks that of a request; nil for none.
func creationKey(key string) (*string, error) {
	switch {
	case key == "":
		return nil, nil
	case len(key) > maxCreationKey:
		return nil, fault.New(fault.Invalid, "%s: %d bytes are over the limit of %d", KeyHeader, len(key), maxCreationKey)
	}
	for _, b := range []byte(key) {
		if b < 0x21 || b > 0x7e {
			return nil, fault.New(fault.Invalid, "%s: expected printable ASCII characters without spaces", KeyHeader)
		}
	}
	return &key, nil
}
