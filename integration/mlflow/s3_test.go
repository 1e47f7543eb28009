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

// TestFilesInS3: the same calls of MLflow's client with a checkpoint storage in S3.
func TestFilesInS3(t *testing.T) {
	at := objecttest.StartS3(t)
	makeBucket(t, at, "detent")
	open := func(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
		b, err := objects.Open(ctx, objects.Store{Bucket: s.Bucket, Endpoint: at.URL, Keys: func(context.Context) (objects.Keys, error) {
			return objects.Keys{AccessKey: at.AccessKey, SecretKey: at.SecretKey}, nil
		}})
		return aBucket{b}, err
	}
	m := servertest.StartWith(t, nil, func(c *api.Config) {
		raw, _, err := expconf.Parse("cluster", []byte("checkpoint_storage: {type: s3, bucket: detent, prefix: team, endpoint_url: '"+at.URL+"'}"))
		if err != nil {
			t.Fatal(err)
		}
		c.CheckpointStorage, c.Bucket = raw.CheckpointStorage, open
	})
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
