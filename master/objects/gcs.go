package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/detent-ml/detent/master/fault"
)

const (
	gcsHost  = "https://storage.googleapis.com"
	gcsScope = "https://www.googleapis.com/auth/devstorage.read_write"
	// gcsEmulator is the variable with the address of an emulator, which Google's libraries use
	// too.
	gcsEmulator = "STORAGE_EMULATOR_HOST"
	// gcsPage is the number of objects in a page.
	gcsPage = 1000
	// signInWithin limits the time of a sign-in at Google.
	signInWithin = 30 * time.Second
)

// GCS is one bucket of Google Cloud Storage, with credentials.
type GCS struct {
	Bucket string
	// Endpoint is an emulator, at which nobody signs in; "": the address in STORAGE_EMULATOR_HOST,
	// or else Google.
	Endpoint string
	// Credentials returns the text of a credentials file; nil: find credentials as Google's
	// tools do, in GOOGLE_APPLICATION_CREDENTIALS, in gcloud's files, from the machine.
	Credentials func(ctx context.Context) ([]byte, error)
	Patience
}

// gcsStore is a bucket of Google Cloud Storage, by its JSON API.
type gcsStore struct {
	name, base string
	root       string // of addresses that others use
	size       int    // of a page of a listing
	signer     func(ctx context.Context) (*googleSigner, error)
	web
}

// OpenGCS makes a client of a bucket; it sends no request.
func OpenGCS(g GCS) *Bucket {
	s := &gcsStore{name: g.Bucket, base: cmp.Or(g.Endpoint, emulatorAt(os.Getenv(gcsEmulator))), size: gcsPage, web: newWeb()}
	s.words = googleSays
	in := &googleSignIn{credentials: g.Credentials}
	s.signer = in.signer
	if s.base == "" {
		s.base, s.sign = gcsHost, in.sign
	} else if g.Credentials == nil {
		s.signer = func(context.Context) (*googleSigner, error) { return nil, nil }
	}
	s.root = strings.TrimRight(s.base, "/")
	s.base = s.root + "/storage/v1/b/" + url.PathEscape(g.Bucket) + "/o"
	return newBucket(s, g.Patience)
}

// emulatorAt is the address of an emulator, with or without a scheme, as in Google's libraries.
func emulatorAt(named string) string {
	if named == "" || strings.Contains(named, "://") {
		return named
	}
	return "http://" + named
}

func (s *gcsStore) at(key string) string { return "gs://" + s.name + "/" + key }

func (s *gcsStore) url(key string) string { return s.base + "/" + url.PathEscape(key) }

func (s *gcsStore) page(ctx context.Context, prefix, mark string) ([]Object, string, error) {
	query := url.Values{"prefix": {prefix}, "maxResults": {strconv.Itoa(s.size)}, "fields": {"nextPageToken,items(name,size,updated,generation)"}}
	if mark != "" {
		query.Set("pageToken", mark)
	}
	text, err := s.fetch(ctx, http.MethodGet, s.base+"?"+query.Encode(), nil)
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Next  string `json:"nextPageToken"`
		Items []struct {
			Name    string    `json:"name"`
			Size    int64     `json:"size,string"`
			Updated time.Time `json:"updated"`
			Version string    `json:"generation"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, "", fault.Wrap(fault.Invalid, err, "cannot parse the object store's list of %s: %v", s.at(prefix), err)
	}
	list := make([]Object, 0, len(page.Items))
	for _, o := range page.Items {
		list = append(list, Object{Key: o.Name, Size: o.Size, Modified: o.Updated, Generation: o.Version})
	}
	return list, page.Next, nil
}

func (s *gcsStore) open(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	// With Accept-Encoding: gzip, a gzipped object is sent unchanged, with its stored size.
	resp, err := s.call(ctx, http.MethodGet, s.url(key)+"?alt=media", http.Header{"Accept-Encoding": {"gzip"}}, contents{s.way})
	if err != nil {
		return nil, Object{}, err
	}
	return contentOf(resp, key)
}

func (s *gcsStore) remove(ctx context.Context, key string) error {
	_, err := s.fetch(ctx, http.MethodDelete, s.url(key), nil)
	return err
}

func (s *gcsStore) put(ctx context.Context, key string, from *io.SectionReader) error {
	address := strings.Replace(s.base, "/storage/v1/b/", "/upload/storage/v1/b/", 1) + "?" + url.Values{"uploadType": {"media"}, "name": {key}}.Encode()
	return s.send(ctx, http.MethodPost, address, http.Header{"Content-Type": {"application/octet-stream"}}, from)
}

// googleSays finds the message of an error.
func googleSays(_ http.Header, body []byte) string {
	var e struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" {
		return string(body)
	}
	return e.Error.Message
}

// A googleSignIn gets tokens from Google when they are needed.
type googleSignIn struct {
	credentials func(ctx context.Context) ([]byte, error)

	mu     sync.Mutex
	tokens oauth2.TokenSource
	signs  *googleSigner // nil if the credentials have no private key
}

// signer returns what signs addresses; nil if the credentials cannot.
func (g *googleSignIn) signer(ctx context.Context) (*googleSigner, error) {
	if _, err := g.source(ctx); err != nil {
		return nil, err
	}
	return g.signs, nil
}

func (g *googleSignIn) sign(r *http.Request) error {
	tokens, err := g.source(r.Context())
	if err != nil {
		return err
	}
	token, err := tokens.Token()
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "cannot sign in to Google Cloud Storage: %s", fault.ClipTo(err.Error(), maxText))
	}
	token.SetAuthHeader(r)
	return nil
}

// source finds the credentials, once. A separate client requests tokens, because they outlive
// the request that needed the first.
func (g *googleSignIn) source(ctx context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens != nil {
		return g.tokens, nil
	}
	lasting := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: signInWithin})
	if g.credentials == nil {
		found, err := google.FindDefaultCredentials(lasting, gcsScope)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "cannot find credentials for Google Cloud Storage: %s", fault.ClipTo(err.Error(), maxText))
		}
		g.tokens, g.signs = found.TokenSource, googleSignerOf(found.JSON)
		return g.tokens, nil
	}
	text, err := g.credentials(ctx)
	if err != nil {
		return nil, err
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fault.New(fault.Unavailable, "the credentials for Google Cloud Storage are not a credentials file of Google")
	}
	made, err := google.CredentialsFromJSONWithType(lasting, text, kind.Type, gcsScope)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the credentials for Google Cloud Storage have the unsupported type %q", fault.ClipTo(string(kind.Type), maxText))
	}
	g.tokens, g.signs = made.TokenSource, googleSignerOf(text)
	return g.tokens, nil
}
