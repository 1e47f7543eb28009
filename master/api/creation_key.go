package api

import "github.com/detent-ml/detent/master/fault"

// creationKeyHeader carries a name that a client gave to its request to make something. One whose
// answer was lost is sent again with the same key, and gets what the first one made.
const creationKeyHeader = "Idempotency-Key"

const maxCreationKey = 200

// creationKey is that of the request; nil for none.
func (c *call) creationKey() (*string, error) {
	key := string(c.Request().Header.Peek(creationKeyHeader))
	switch {
	case key == "":
		return nil, nil
	case len(key) > maxCreationKey:
		return nil, fault.New(fault.Invalid, "%s: %d bytes are over the limit of %d", creationKeyHeader, len(key), maxCreationKey)
	}
	for _, b := range []byte(key) {
		if b < 0x21 || b > 0x7e {
			return nil, fault.New(fault.Invalid, "%s: expected letters, digits and signs of ASCII without spaces", creationKeyHeader)
		}
	}
	return &key, nil
}
