package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Names of the headers with the signature.
const (
	SignatureHeader = "X-Determined-AI-Signature"
	TimestampHeader = "X-Determined-AI-Signature-Timestamp"
)

// Signature signs a body at a time, in seconds since 1970. The receiver computes the HMAC
// with SHA-256 of the time, a comma and the body, and compares.
func Signature(key string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(strconv.AppendInt(nil, timestamp, 10))
	mac.Write([]byte{','})
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
