package objects

import (
	"context"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// azureVersion is a version of the protocol old enough that keys are not encoded in responses.
const azureVersion = "2020-10-02"

// azurePage is the number of blobs in a page.
const azurePage = 1000

// Azure is one container of Azure's Blob Storage, with credentials.
type Azure struct {
	Container string
	AzureAccount
	Patience
}

// azureStore is a container of Azure's Blob Storage.
type azureStore struct {
	name, base string
	size       int        // of a page of a listing
	token      url.Values // a shared access signature, as part of each address
	key        *sharedKey // which signs addresses; nil: nothing does
	web
}

// OpenAzure makes a client of a container; it sends no request.
func OpenAzure(a Azure) (*Bucket, error) {
	s := &azureStore{name: a.Container, base: strings.TrimRight(a.URL, "/") + "/" + url.PathEscape(a.Container), size: azurePage, web: newWeb()}
	s.words = azureSays
	switch {
	case a.Token != "":
		token, err := url.ParseQuery(a.Token)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "the shared access signature for the storage account cannot be read")
		}
		s.token = token
	case a.Key != nil:
		s.key = &sharedKey{account: a.Name, key: a.Key}
		s.sign = s.key.sign
	}
	return newBucket(s, a.Patience), nil
}

func (s *azureStore) at(key string) string { return s.base + "/" + key }

// url is the address of a key, or of the container, with the token.
func (s *azureStore) url(key string, query url.Values) string {
	address := s.base
	if key != "" {
		address += "/" + strings.Join(each.Of(strings.Split(key, "/"), url.PathEscape), "/")
	}
	all := url.Values{}
	for _, part := range []url.Values{query, s.token} {
		maps.Copy(all, part)
	}
	if len(all) == 0 {
		return address
	}
	return address + "?" + all.Encode()
}

func azureHeader() http.Header {
	return http.Header{"X-Ms-Version": {azureVersion}, "X-Ms-Date": {time.Now().UTC().Format(http.TimeFormat)}}
}

func (s *azureStore) page(ctx context.Context, prefix, mark string) ([]Object, string, error) {
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}, "maxresults": {strconv.Itoa(s.size)}}
	if mark != "" {
		query.Set("marker", mark)
	}
	text, err := s.fetch(ctx, http.MethodGet, s.url("", query), azureHeader())
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Next  string `xml:"NextMarker"`
		Blobs []struct {
			Name     string `xml:"Name"`
			Size     int64  `xml:"Properties>Content-Length"`
			Modified string `xml:"Properties>Last-Modified"`
		} `xml:"Blobs>Blob"`
	}
	if err := xml.Unmarshal(text, &page); err != nil {
		return nil, "", fault.Wrap(fault.Invalid, err, "cannot parse the object store's list of %s: %v", s.at(prefix), err)
	}
	list := make([]Object, 0, len(page.Blobs))
	for _, o := range page.Blobs {
		modified, _ := http.ParseTime(o.Modified)
		list = append(list, Object{Key: o.Name, Size: o.Size, Modified: modified})
	}
	return list, page.Next, nil
}

func (s *azureStore) open(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	resp, err := s.call(ctx, http.MethodGet, s.url(key, nil), azureHeader(), contents{s.way})
	if err != nil {
		return nil, Object{}, err
	}
	return contentOf(resp, key)
}

func (s *azureStore) remove(ctx context.Context, key string) error {
	header := azureHeader()
	header.Set("X-Ms-Delete-Snapshots", "include") // Azure does not remove a blob with snapshots otherwise
	_, err := s.fetch(ctx, http.MethodDelete, s.url(key, nil), header)
	return err
}

func (s *azureStore) put(ctx context.Context, key string, from *io.SectionReader) error {
	header := azureHeader()
	header.Set("X-Ms-Blob-Type", "BlockBlob")
	return s.send(ctx, http.MethodPut, s.url(key, nil), header, from)
}

// azureSays finds the code of an error.
func azureSays(header http.Header, body []byte) string {
	if code := header.Get("X-Ms-Error-Code"); code != "" {
		return code
	}
	var e struct {
		Code, Message string
	}
	if xml.Unmarshal(body, &e) != nil {
		return string(body)
	}
	return e.Code + " " + e.Message
}
