package objects

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"golang.org/x/oauth2/google"

	"github.com/detent-ml/detent/master/fault"
)

// Addresses of Google's storage are signed with the private key of a service account, by its protocol V4. Other credentials, such as those of a machine,
// have no key: Google would sign each address in a call of its own, so nothing is signed with them.

// maxGoogleParts is how many addresses are signed for one upload: a signature takes a millisecond of a processor.
const maxGoogleParts = 1000

// A googleSigner signs addresses for a service account.
type googleSigner struct {
	email string
	key   *rsa.PrivateKey
}

// googleSignerOf is the signer of a credentials file; nil if the file has no private key.
func googleSignerOf(text []byte) *googleSigner {
	account, err := google.JWTConfigFromJSON(text)
	if err != nil {
		return nil
	}
	block, _ := pem.Decode(account.PrivateKey)
	if block == nil {
		return nil
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if key, is := parsed.(*rsa.PrivateKey); is {
			return &googleSigner{account.Email, key}
		}
		return nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return &googleSigner{account.Email, key}
	}
	return nil
}

// address signs the address of an object for one method.
func (g *googleSigner) address(method, root, bucket, key string, now time.Time, life time.Duration) (string, error) {
	u, err := url.Parse(root)
	if err != nil {
		return "", err
	}
	at, day := now.UTC().Format("20060102T150405Z"), now.UTC().Format("20060102")
	scope := day + "/auto/storage/goog4_request"
	resource := "/" + googleEscape(bucket, "") + "/" + googleEscape(key, "/")
	query := fmt.Sprintf("X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=%s&X-Goog-Date=%s&X-Goog-Expires=%d&X-Goog-SignedHeaders=host",
		googleEscape(g.email+"/"+scope, ""), at, int(life.Seconds()))
	asked := sha256.Sum256([]byte(strings.Join([]string{method, resource, query, "host:" + u.Host + "\n", "host", "UNSIGNED-PAYLOAD"}, "\n")))
	signed := sha256.Sum256([]byte(strings.Join([]string{"GOOG4-RSA-SHA256", at, scope, hex.EncodeToString(asked[:])}, "\n")))
	signature, err := rsa.SignPKCS1v15(nil, g.key, crypto.SHA256, signed[:])
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "cannot sign an address of Google Cloud Storage with the key of %s: %v", g.email, err)
	}
	return u.Scheme + "://" + u.Host + resource + "?" + query + "&X-Goog-Signature=" + hex.EncodeToString(signature), nil
}

// googleEscape escapes everything but letters, digits, -_.~ and some further bytes: the signature is one of exactly this form.
func googleEscape(text, further string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~"+further, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// signing bounds how many uploads get addresses at the same time, so that signatures leave most processors to others.
var signing = make(chan struct{}, max(1, runtime.NumCPU()/4))

func (s *gcsStore) signParts(ctx context.Context, key, id string, n int, life time.Duration) ([]string, error) {
	signer, err := s.signer(ctx)
	if err != nil || signer == nil || n > maxGoogleParts {
		return nil, err
	}
	select {
	case signing <- struct{}{}:
		defer func() { <-signing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now, list := time.Now(), make([]string, 0, n)
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		address, err := signer.address("PUT", s.root, s.name, partKey(key, id, i+1), now, life)
		if err != nil {
			return nil, err
		}
		list = append(list, address)
	}
	return list, nil
}

func (s *gcsStore) signGet(ctx context.Context, key string, life time.Duration) (string, error) {
	signer, err := s.signer(ctx)
	if err != nil || signer == nil {
		return "", err
	}
	return signer.address("GET", s.root, s.name, key, time.Now(), life)
}
