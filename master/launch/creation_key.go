package launch

import "github.com/detent-ml/detent/master/fault"

// KeyHeader is the header with the idempotency key of a request that creates something. A client
// whose answer was lost repeats the request with the same key, and receives what the first request
// created.
const KeyHeader = "Idempotency-Key"

const maxCreationKey = 200

// creationKey checks the idempotency key of a request; nil if it has none.
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
