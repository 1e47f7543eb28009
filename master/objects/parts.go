package objects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/fault"
)

// A large object is written in parts, in any order and by several processes: BeginParts, the parts, FinishParts or DropParts. Who has the
// id can write parts. With credentials that sign (keys of S3, of a service account of Google or of an account of Azure), a store has addresses to which
// others send parts and from which they read objects without credentials; else the master sends them.

// A part is a part of an object that is not complete.
type part struct {
	n    int
	size int64
	tag  string    // by which S3 knows it, or its generation at Google
	at   time.Time // when it arrived, where the store says so
}

// maxParts is how many parts of one upload are read: a store may list a part twice that was sent twice, and the server of a user anything.
const maxParts = 20_000

// maxTag is the maximum length of what a store calls a part.
const maxTag = 256

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
	err = b.within(ctx, key, 1, func(ctx context.Context) error {
		list, err = b.store.signParts(ctx, key, id, n, life)
		return err
	})
	return list, err
}

// SignGet returns the address from which an object can be read for some time; "" if the store needs credentials.
func (b *Bucket) SignGet(ctx context.Context, key string, life time.Duration) (address string, err error) {
	err = b.within(ctx, key, 1, func(ctx context.Context) error {
		address, err = b.store.signGet(ctx, key, life)
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

// LateParts reports whether the store accepts parts also after FinishParts or DropParts: at addresses that it has signed, or of requests that are on their way.
func (b *Bucket) LateParts() bool {
	_, s3 := b.store.(*s3Store)
	return !s3
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
			if len(list) >= maxParts || len(aws.ToString(p.ETag)) > maxTag {
				return nil, tooManyParts(s.at(key))
			}
			list = append(list, part{int(aws.ToInt32(p.PartNumber)), aws.ToInt64(p.Size), aws.ToString(p.ETag), aws.ToTime(p.LastModified)})
		}
		next := aws.ToString(page.NextPartNumberMarker)
		if !aws.ToBool(page.IsTruncated) || next == aws.ToString(mark) {
			break
		}
		mark = &next
	}
	return newestOfEach(list), nil
}

func tooManyParts(what string) error {
	return fault.New(fault.Invalid, "the object store lists more than %d parts of %s, or names of parts with more than %d bytes", maxParts, what, maxTag)
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
		if list = append(list, page...); len(list) > maxParts {
			return nil, tooManyParts(s.at(prefix))
		}
		if next == "" || next == mark {
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
			list = append(list, part{n: n, size: o.Size, tag: o.Generation})
		}
	}
	return list, err
}

// A composedOf is an object of which another one is made; it fails if the object was replaced since somebody saw its size.
type composedOf struct {
	Name string `json:"name"`
	If   struct {
		Generation string `json:"ifGenerationMatch,omitempty"`
	} `json:"objectPreconditions"`
}

func (s *gcsStore) finish(ctx context.Context, key, id string, list []part) error {
	from := make([]composedOf, 0, len(list))
	for _, p := range list {
		o := composedOf{Name: partKey(key, id, p.n)}
		o.If.Generation = p.tag
		from = append(from, o)
	}
	for level := 0; len(from) > composed; level++ {
		var larger []composedOf
		for chunk := range slices.Chunk(from, composed) {
			to := fmt.Sprintf("%sof-%d-%05d", beside(key, id), level, len(larger))
			if err := s.compose(ctx, to, chunk); err != nil {
				return err
			}
			larger = append(larger, composedOf{Name: to})
		}
		from = larger
	}
	if err := s.compose(ctx, key, from); err != nil {
		return err
	}
	return s.drop(ctx, key, id)
}

func (s *gcsStore) compose(ctx context.Context, to string, from []composedOf) error {
	var body struct {
		Sources []composedOf      `json:"sourceObjects"`
		To      map[string]string `json:"destination"`
	}
	body.Sources = from
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
