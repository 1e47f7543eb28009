package mlflow

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
)

// aBucket is a bucket for the API, as package server makes it.
type aBucket struct{ *objects.Bucket }

func (b aBucket) Get(ctx context.Context, key string) (io.ReadCloser, checkpoints.Object, error) {
	body, o, err := b.Bucket.Get(ctx, key)
	return body, checkpoints.Object(o), err
}

// makeBucket makes a bucket; the store may need a moment before it does.
func makeBucket(t *testing.T, at objecttest.S3, name string) {
	t.Helper()
	client := s3.New(s3.Options{BaseEndpoint: &at.URL, UsePathStyle: true, Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: at.AccessKey, SecretAccessKey: at.SecretKey}, nil
	})})
	for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// inS3 starts a master whose checkpoint storage is in S3.
func inS3(t *testing.T, at objecttest.S3, throughMaster bool) (*servertest.Master, func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error)) {
	makeBucket(t, at, "detent")
	open := func(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
		b, err := objects.Open(ctx, objects.Store{Bucket: s.Bucket, Endpoint: at.URL, Keys: func(context.Context) (objects.Keys, error) {
			return objects.Keys{AccessKey: at.AccessKey, SecretKey: at.SecretKey}, nil
		}})
		return aBucket{b}, err
	}
	return servertest.StartWith(t, nil, func(c *api.Config) {
		raw, _, err := expconf.Parse("cluster", []byte("checkpoint_storage: {type: s3, bucket: detent, prefix: team, endpoint_url: '"+at.URL+"'}"))
		if err != nil {
			t.Fatal(err)
		}
		c.CheckpointStorage, c.Bucket, c.FilesThroughMaster = raw.CheckpointStorage, open, throughMaster
	}), open
}

// TestFilesInParts: a file that MLflow's client sends in parts goes to S3 itself, or through the master where operators say so or where the
// storage is a folder.
func TestFilesInParts(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		m := servertest.Start(t, nil)
		against(t, ours(m), m.Client("determined").Token(), "parts.py", "through")
		if n, err := database.Scalar[int](t.Context(), m.DB, `SELECT count(*) FROM logged_uploads WHERE NOT finished`); err != nil || n != 0 {
			t.Errorf("%d uploads are not finished: %v", n, err)
		}
	})
	for _, kind := range []string{"signed", "through"} {
		t.Run("S3 "+kind, func(t *testing.T) {
			m, open := inS3(t, objecttest.StartS3(t), kind == "through")
			against(t, ours(m), m.Client("determined").Token(), "parts.py", kind)
			b, err := open(t.Context(), expconf.CheckpointStorage{Bucket: "detent"})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if list, err := b.(aBucket).List(t.Context(), ""); err != nil || len(list) != 1 || !strings.HasSuffix(list[0].Key, "/models/a/large weights.bin") {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}

// TestFilesInS3: the same calls of MLflow's client with a checkpoint storage in S3.
func TestFilesInS3(t *testing.T) {
	at := objecttest.StartS3(t)
	m, open := inS3(t, at, false)
	against(t, ours(m), m.Client("determined").Token(), "files.py", "S3")
	b, err := open(t.Context(), expconf.CheckpointStorage{Bucket: "detent"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	list, err := b.(aBucket).List(t.Context(), "")
	if err != nil || len(list) < 10 {
		t.Fatalf("%d objects, %v", len(list), err)
	}
	for _, o := range list {
		if !strings.HasPrefix(o.Key, "team/1/") {
			t.Errorf("%s is not below the prefix of its experiment", o.Key)
		}
	}
	// What is removed from a run is removed from the bucket.
	for _, o := range list {
		if strings.Contains(o.Key, "/many/") {
			t.Errorf("%s was not removed", o.Key)
		}
	}
}
