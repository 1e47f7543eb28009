package logs

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// unpackedBody is the maximum size of an unpacked body.
const unpackedBody = 4 * v1.ReportBody

// unpackWindow is the maximum window size for unpacking.
const unpackWindow = 8 << 20

// packedBody reads a body and unpacks it according to its Content-Encoding. It unpacks twice:
// first to learn the size and to reserve memory, then to keep the result.
func packedBody(c *rest.Call) ([]byte, error) {
	encoding := strings.ToLower(c.Get("Content-Encoding"))
	if encoding == "" || encoding == "identity" {
		return c.ReadBody(v1.ReportBody)
	}
	b, err := c.Receive(v1.ReportBody)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	size, err := unpackedSize(c, b, encoding)
	if err != nil {
		return nil, err
	}
	if size > v1.SmallBody {
		if err := c.HoldFor(size); err != nil {
			return nil, err
		}
	}
	plain := bytes.NewBuffer(make([]byte, 0, size))
	err = unpack(b, encoding, func(r io.Reader) error {
		_, err := io.Copy(plain, r)
		return err
	})
	return plain.Bytes(), err
}

// unpackedSize computes the size of an unpacked body. Only a few run at the same time, because
// unpacking needs memory itself.
func unpackedSize(c *rest.Call, b *rest.Received, encoding string) (size int64, err error) {
	held, err := c.Hold(unpackWindow / rest.BodyWeight)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	err = unpack(b, encoding, func(r io.Reader) error {
		size, err = io.Copy(io.Discard, io.LimitReader(r, unpackedBody+1))
		return err
	})
	if err == nil && size > unpackedBody {
		err = rest.TooLarge(int(size), unpackedBody)
	}
	return size, err
}

// unpack calls fn with the unpacked body.
func unpack(b *rest.Received, encoding string, fn func(io.Reader) error) error {
	var r io.Reader
	switch encoding {
	case "gzip":
		z, err := gzip.NewReader(b.Open())
		if err != nil {
			return fault.New(fault.Invalid, "the body is not gzip: %v", err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(b.Open(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(unpackWindow))
		if err != nil {
			return fault.New(fault.Invalid, "the body is not zstd: %v", err)
		}
		defer z.Close()
		r = z
	default:
		return fault.New(fault.Invalid, "Content-Encoding: %q is not supported; use gzip or zstd", encoding)
	}
	if err := fn(r); err != nil {
		return fault.New(fault.Invalid, "cannot unpack the body: %v", err)
	}
	return nil
}
