package objects

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// Azure's parts are blocks, which belong to a blob and are gone a week later if nobody makes the blob of them. What is written of a blob in one
// call has blocks of no name, so an upload drops no other blob. Where the store signs addresses, the blob is one beside the one that it becomes.

// copyPause is the pause between two looks at a copy that the store makes.
const copyPause = time.Second

func (s *azureStore) begin(context.Context, string) (string, error) { return uuid.NewString(), nil }

// aside is the blob to which the blocks of an upload belong.
func (s *azureStore) aside(key, id string) string {
	if s.key == nil {
		return key
	}
	return key + ".detent-upload-" + id
}

// block is the name of a block; all blocks of a blob need names of one length.
func block(id string, n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%05d", id, n))
}

func (s *azureStore) putPart(ctx context.Context, key, id string, n int, from *io.SectionReader) error {
	return s.send(ctx, http.MethodPut, s.url(s.aside(key, id), url.Values{"comp": {"block"}, "blockid": {block(id, n)}}), azureHeader(), from)
}

// parts are the blocks of an upload, also after an earlier try has made the blob aside of them.
func (s *azureStore) parts(ctx context.Context, key, id string) (list []part, err error) {
	kind := "uncommitted"
	if s.key != nil {
		kind = "all"
	}
	text, err := s.fetch(ctx, http.MethodGet, s.url(s.aside(key, id), url.Values{"comp": {"blocklist"}, "blocklisttype": {kind}}), azureHeader())
	if missing(err) { // not even one block
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type blocks []struct {
		Name string `xml:"Name"`
		Size int64  `xml:"Size"`
	}
	var found struct {
		New  blocks `xml:"UncommittedBlocks>Block"`
		Made blocks `xml:"CommittedBlocks>Block"`
	}
	if err := xml.Unmarshal(text, &found); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "cannot parse the object store's list of the blocks of %s: %v", s.at(key), err)
	}
	seen := map[int]bool{}
	for _, b := range append(found.New, found.Made...) { // of a block that is in both, the new one counts
		name, _ := base64.StdEncoding.DecodeString(b.Name)
		if number, ours := strings.CutPrefix(string(name), id+"-"); ours {
			if n, _ := strconv.Atoi(number); !seen[n] {
				seen[n] = true
				list = append(list, part{n: n, size: b.Size})
			}
		}
	}
	return list, nil
}

func (s *azureStore) finish(ctx context.Context, key, id string, list []part) error {
	var body strings.Builder
	size := int64(0)
	body.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for _, p := range list {
		body.WriteString(`<Latest>` + block(id, p.n) + `</Latest>`)
		size += p.size
	}
	body.WriteString(`</BlockList>`)
	from := s.aside(key, id)
	err := s.send(ctx, http.MethodPut, s.url(from, url.Values{"comp": {"blocklist"}}), azureHeader(), io.NewSectionReader(strings.NewReader(body.String()), 0, int64(body.Len())))
	if err != nil || from == key {
		return err
	}
	if err := s.copy(ctx, from, key, size); err != nil {
		return err
	}
	return s.drop(ctx, key, id)
}

// copy copies a blob of this size, which must not change meanwhile: whoever has an address of a block could write it.
func (s *azureStore) copy(ctx context.Context, from, to string, size int64) error {
	is, length, err := s.head(ctx, from)
	if err != nil {
		return err
	}
	if length != size {
		return fault.New(fault.Conflict, "the parts of %s changed while the object was made of them; send it again", s.at(to))
	}
	header := azureHeader()
	header.Set("X-Ms-Copy-Source", s.url(from, nil))
	header.Set("X-Ms-Source-If-Match", is.Get("ETag"))
	resp, err := s.call(ctx, http.MethodPut, s.url(to, nil), header, answers{s.way})
	if err != nil {
		return err
	}
	copies := resp.Header.Get("X-Ms-Copy-Id")
	status := resp.Header.Get("X-Ms-Copy-Status")
	if err := resp.Body.Close(); err != nil {
		return err
	}
	for status == "pending" {
		if err := sleep.For(ctx, copyPause); err != nil { // nobody waits any more, and the copy must not replace the object later
			return errors.Join(err, s.abortCopy(context.WithoutCancel(ctx), to, copies))
		}
		now, _, err := s.head(ctx, to)
		if err != nil {
			return err
		}
		if status = now.Get("X-Ms-Copy-Status"); now.Get("X-Ms-Copy-Id") != copies {
			return fault.New(fault.Conflict, "%s was replaced while it was copied; send it again", s.at(to))
		}
	}
	if status != "success" {
		return fault.New(fault.Unavailable, "the object store could not copy %s to %s: the copy is %q", s.at(from), s.at(to), status)
	}
	return nil
}

// abortTimeout is the time limit of the call that ends a copy.
const abortTimeout = 10 * time.Second

func (s *azureStore) abortCopy(ctx context.Context, to, id string) error {
	ctx, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	header := azureHeader()
	header.Set("X-Ms-Copy-Action", "abort")
	resp, err := s.call(ctx, http.MethodPut, s.url(to, url.Values{"comp": {"copy"}, "copyid": {id}}), header, answers{s.way})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// head is the header of a blob, and its size.
func (s *azureStore) head(ctx context.Context, key string) (header http.Header, size int64, err error) {
	resp, err := s.call(ctx, http.MethodHead, s.url(key, nil), azureHeader(), answers{s.way})
	if err != nil {
		return nil, 0, err
	}
	return resp.Header, resp.ContentLength, resp.Body.Close()
}

// drop removes the blob aside. Blocks of which no blob was made are gone a week later.
func (s *azureStore) drop(ctx context.Context, key, id string) error {
	if s.key == nil {
		return nil
	}
	if err := s.remove(ctx, s.aside(key, id)); err != nil && !missing(err) {
		return err
	}
	return nil
}
