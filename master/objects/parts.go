package objects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// A large object is written in parts, in any order and by several processes: BeginParts, the parts, FinishParts or DropParts. Who has the
// id can write parts. S3 and compatible stores sign addresses, to which others send parts and from which they read objects without credentials;
// to the other stores the master sends them.

// A part is a part of an object that is not complete.
type part struct {
	n    int
	size int64
	tag  string    // by which S3 knows it
	at   time.Time // when it arrived, where the store says so
}

// finishWithin is the time limit of the call that makes an object of its parts, in multiples of the time without data: S3 may need minutes.
const finishWithin = 10

// BeginParts begins an object, and returns the store's id of the upload.
func (b *Bucket) BeginParts(ctx context.Context, key string) (id string, err error) {
	err = b.within(ctx, key, 1, func(ctx context.Context) error {
		id, err = b.store.begin(ctx, key)
		return err
	})
	return id, err
}

// SignParts returns the addresses to which parts 1 to n can be sent for some time; none if the store needs credentials.
func (b *Bucket) SignParts(ctx context.Context, key, id string, n int, life time.Duration) (list []string, err error) {
	s, signs := b.store.(*s3Store)
	if !signs {
		return nil, nil
	}
	err = b.within(ctx, key, 1, func(ctx context.Context) error {
		list, err = s.signParts(ctx, key, id, n, life)
		return err
	})
	return list, err
}

// SignGet returns the address from which an object can be read for some time; "" if the store needs credentials.
func (b *Bucket) SignGet(ctx context.Context, key string, life time.Duration) (address string, err error) {
	s, signs := b.store.(*s3Store)
	if !signs {
		return "", nil
	}
	err = b.within(ctx, key, 1, func(ctx context.Context) error {
		address, err = s.signGet(ctx, key, life)
		return err
	})
	return address, err
}

// PutPart writes a part, or replaces it.
func (b *Bucket) PutPart(ctx context.Context, key, id string, n int, from io.ReaderAt, size int64) error {
	return b.sending(ctx, key, from, size, func(ctx context.Context, body *io.SectionReader) error {
		return b.store.putPart(ctx, key, id, n, body)
	})
}

// FinishParts makes the object of parts 1 to n, unless it has more bytes than are allowed, and returns its size.
func (b *Bucket) FinishParts(ctx context.Context, key, id string, n int, most int64) (size int64, err error) {
	err = b.within(ctx, key, finishWithin, func(ctx context.Context) error {
		var list []part
		if list, size, err = b.wholeParts(ctx, key, id, n, most); err != nil {
			return err
		}
		return b.store.finish(ctx, key, id, list)
	})
	return size, err
}

// MeasureParts returns how many bytes parts 1 to n have together, with the errors of FinishParts.
func (b *Bucket) MeasureParts(ctx context.Context, key, id string, n int, most int64) (size int64, err error) {
	err = b.within(ctx, key, finishWithin, func(ctx context.Context) error {
		_, size, err = b.wholeParts(ctx, key, id, n, most)
		return err
	})
	return size, err
}

// wholeParts are parts 1 to n in their order, and their size.
func (b *Bucket) wholeParts(ctx context.Context, key, id string, n int, most int64) (list []part, size int64, err error) {
	if list, err = b.store.parts(ctx, key, id); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.n, b.n) })
	size, err = whole(list, n, most)
	return list, size, err
}

// whole checks that parts in their order are all there.
func whole(list []part, n int, most int64) (size int64, err error) {
	for i := range n {
		if i >= len(list) || list[i].n != i+1 {
			return 0, fault.New(fault.Invalid, "part %d of %d has not arrived", i+1, n)
		}
		size += list[i].size
	}
	switch {
	case len(list) > n:
		return 0, fault.New(fault.Invalid, "part %d has arrived, but the file has %d parts", list[n].n, n)
	case size > most:
		return 0, fault.New(fault.TooLarge, "the parts have %d bytes together; %d are allowed", size, most)
	}
	return size, nil
}

// DropParts removes the parts of an object that is not complete. If there are none, it is no error.
func (b *Bucket) DropParts(ctx context.Context, key, id string) error {
	err := b.within(ctx, key, finishWithin, func(ctx context.Context) error { return b.store.drop(ctx, key, id) })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// within makes a call with a time limit in multiples of the time without data.
func (b *Bucket) within(ctx context.Context, key string, times int, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(times)*b.silent, errSilent)
	defer cancel()
	if err := call(ctx); err != nil {
		return b.fault(ctx, err, key)
	}
	return nil
}

func (s *s3Store) begin(ctx context.Context, key string) (string, error) {
	made, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.name, Key: &key})
	if err != nil {
		return "", err
	}
	return aws.ToString(made.UploadId), nil
}

func (s *s3Store) putPart(ctx context.Context, key, id string, n int, from *io.SectionReader) error {
	_, err := s.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &s.name, Key: &key, UploadId: &id, PartNumber: aws.Int32(int32(n)), Body: from, ContentLength: aws.Int64(from.Size())})
	return err
}

func (s *s3Store) signParts(ctx context.Context, key, id string, n int, life time.Duration) ([]string, error) {
	signer, list := s3.NewPresignClient(s.client, s3.WithPresignExpires(life)), make([]string, 0, n)
	for i := range n {
		signed, err := signer.PresignUploadPart(ctx, &s3.UploadPartInput{Bucket: &s.name, Key: &key, UploadId: &id, PartNumber: aws.Int32(int32(i + 1))})
		if err != nil {
			return nil, err
		}
		list = append(list, signed.URL)
	}
	return list, nil
}

func (s *s3Store) signGet(ctx context.Context, key string, life time.Duration) (string, error) {
	signed, err := s3.NewPresignClient(s.client, s3.WithPresignExpires(life)).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &s.name, Key: &key})
	if err != nil {
		return "", err
	}
	return signed.URL, nil
}

func (s *s3Store) parts(ctx context.Context, key, id string) (list []part, err error) {
	var mark *string
	for range maxPages {
		page, err := s.client.ListParts(ctx, &s3.ListPartsInput{Bucket: &s.name, Key: &key, UploadId: &id, PartNumberMarker: mark})
		if err != nil {
			return nil, err
		}
		for _, p := range page.Parts {
			list = append(list, part{int(aws.ToInt32(p.PartNumber)), aws.ToInt64(p.Size), aws.ToString(p.ETag), aws.ToTime(p.LastModified)})
		}
		next := aws.ToString(page.NextPartNumberMarker)
		if !aws.ToBool(page.IsTruncated) || next == aws.ToString(mark) || len(list) > maxKeys {
			break
		}
		mark = &next
	}
	return newestOfEach(list), nil
}

// newestOfEach leaves the newest of parts with the same number: S3 replaces a part that is sent again, and SeaweedFS lists both.
func newestOfEach(list []part) []part {
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Or(cmp.Compare(a.n, b.n), b.at.Compare(a.at)) })
	return slices.CompactFunc(list, func(a, b part) bool { return a.n == b.n })
}

func (s *s3Store) finish(ctx context.Context, key, id string, list []part) error {
	done := make([]types.CompletedPart, 0, len(list))
	for _, p := range list {
		done = append(done, types.CompletedPart{PartNumber: aws.Int32(int32(p.n)), ETag: aws.String(p.tag)})
	}
	_, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &s.name, Key: &key, UploadId: &id, MultipartUpload: &types.CompletedMultipartUpload{Parts: done}})
	return err
}

func (s *s3Store) drop(ctx context.Context, key, id string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.name, Key: &key, UploadId: &id})
	return err
}

// Google's parts are objects beside the one that they become: Google makes one object of up to 32 without moving their content, and of those
// again one.

const composed = 32 // objects of one call

// beside is the folder with the parts of an upload.
func beside(key, id string) string { return key + ".detent-upload-" + id + "/" }

func partKey(key, id string, n int) string { return fmt.Sprintf("%s%05d", beside(key, id), n) }

func (s *gcsStore) begin(context.Context, string) (string, error) { return uuid.NewString(), nil }

func (s *gcsStore) putPart(ctx context.Context, key, id string, n int, from *io.SectionReader) error {
	return s.put(ctx, partKey(key, id, n), from)
}

// all lists the objects below a prefix.
func (s *gcsStore) all(ctx context.Context, prefix string) (list []Object, err error) {
	mark := ""
	for range maxPages {
		page, next, err := s.page(ctx, prefix, mark)
		if err != nil {
			return nil, err
		}
		if list = append(list, page...); next == "" || next == mark || len(list) > maxKeys {
			break
		}
		mark = next
	}
	return list, nil
}

func (s *gcsStore) parts(ctx context.Context, key, id string) (list []part, err error) {
	all, err := s.all(ctx, beside(key, id))
	for _, o := range all {
		if n, wrong := strconv.Atoi(strings.TrimPrefix(o.Key, beside(key, id))); wrong == nil { // else what an earlier try has made of parts
			list = append(list, part{n: n, size: o.Size})
		}
	}
	return list, err
}

func (s *gcsStore) finish(ctx context.Context, key, id string, list []part) error {
	names := make([]string, 0, len(list))
	for _, p := range list {
		names = append(names, partKey(key, id, p.n))
	}
	for level := 0; len(names) > composed; level++ {
		var larger []string
		for chunk := range slices.Chunk(names, composed) {
			to := fmt.Sprintf("%sof-%d-%05d", beside(key, id), level, len(larger))
			if err := s.compose(ctx, to, chunk); err != nil {
				return err
			}
			larger = append(larger, to)
		}
		names = larger
	}
	if err := s.compose(ctx, key, names); err != nil {
		return err
	}
	return s.drop(ctx, key, id)
}

func (s *gcsStore) compose(ctx context.Context, to string, names []string) error {
	type object struct {
		Name string `json:"name"`
	}
	var body struct {
		Sources []object          `json:"sourceObjects"`
		To      map[string]string `json:"destination"`
	}
	body.Sources = each.Of(names, func(name string) object { return object{name} })
	body.To = map[string]string{"contentType": "application/octet-stream"}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.send(ctx, http.MethodPost, s.url(to)+"/compose", http.Header{"Content-Type": {"application/json"}}, io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))))
}

func (s *gcsStore) drop(ctx context.Context, key, id string) error {
	all, err := s.all(ctx, beside(key, id))
	for _, o := range all {
		if err := s.remove(ctx, o.Key); err != nil && !missing(err) {
			return err
		}
	}
	return err
}

func missing(err error) bool {
	said, is := errors.AsType[*refusal](err)
	return is && said.status == http.StatusNotFound
}

// Azure's parts are blocks, which belong to the blob and are gone a week later if nobody makes one of them. What is written of a blob in one
// call has blocks of no name, so an upload drops no other blob.

func (s *azureStore) begin(context.Context, string) (string, error) { return uuid.NewString(), nil }

// block is the name of a block; all blocks of a blob need names of one length.
func block(id string, n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%05d", id, n))
}

func (s *azureStore) putPart(ctx context.Context, key, id string, n int, from *io.SectionReader) error {
	return s.send(ctx, http.MethodPut, s.url(key, url.Values{"comp": {"block"}, "blockid": {block(id, n)}}), azureHeader(), from)
}

func (s *azureStore) parts(ctx context.Context, key, id string) (list []part, err error) {
	text, err := s.fetch(ctx, http.MethodGet, s.url(key, url.Values{"comp": {"blocklist"}, "blocklisttype": {"uncommitted"}}), azureHeader())
	if err != nil {
		return nil, err
	}
	var found struct {
		Blocks []struct {
			Name string `xml:"Name"`
			Size int64  `xml:"Size"`
		} `xml:"UncommittedBlocks>Block"`
	}
	if err := xml.Unmarshal(text, &found); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "cannot parse the object store's list of the blocks of %s: %v", s.at(key), err)
	}
	for _, b := range found.Blocks {
		name, _ := base64.StdEncoding.DecodeString(b.Name)
		if number, ours := strings.CutPrefix(string(name), id+"-"); ours {
			n, _ := strconv.Atoi(number)
			list = append(list, part{n: n, size: b.Size})
		}
	}
	return list, nil
}

func (s *azureStore) finish(ctx context.Context, key, id string, list []part) error {
	var body strings.Builder
	body.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for _, p := range list {
		body.WriteString(`<Uncommitted>` + block(id, p.n) + `</Uncommitted>`)
	}
	body.WriteString(`</BlockList>`)
	return s.send(ctx, http.MethodPut, s.url(key, url.Values{"comp": {"blocklist"}}), azureHeader(), io.NewSectionReader(strings.NewReader(body.String()), 0, int64(body.Len())))
}

func (s *azureStore) drop(context.Context, string, string) error { return nil }
