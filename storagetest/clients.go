package storagetest

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Tables returns the SDK's client of the Table service, with [Options].Client. Tables panics if the SDK refuses the name of the
// account.
func (s *Service) Tables() *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// Queues returns the SDK's client of the Queue service, with [Options].Client. Queues panics if the SDK refuses the name of the
// account.
func (s *Service) Queues() *azqueue.ServiceClient {
	c, err := azqueue.NewServiceClientFromConnectionString(s.ConnectionString(), &azqueue.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// Queue returns the SDK's client of one queue; see [Service.Queues].
func (s *Service) Queue(name string) *azqueue.QueueClient { return s.Queues().NewQueueClient(name) }

// Blobs returns the SDK's client of the Blob service, with [Options].Client. Blobs panics if the SDK refuses the name of the
// account.
func (s *Service) Blobs() *service.Client {
	c, err := service.NewClientFromConnectionString(s.ConnectionString(), &service.ClientOptions{ClientOptions: s.clientOptions()})
	s.mustAccept(err)
	return c
}

// Container returns the SDK's client of one blob container; see [Service.Blobs].
func (s *Service) Container(name string) *container.Client { return s.Blobs().NewContainerClient(name) }

// clientOptions returns the options of clients in this process.
func (s *Service) clientOptions() azcore.ClientOptions {
	o := s.client
	o.Transport = s
	return o
}

// mustAccept panics if the SDK refuses the account, whose name is the only part that a program chooses.
func (s *Service) mustAccept(err error) {
	if err != nil {
		panic(fmt.Sprintf("storagetest: the SDK refuses the account %q of Options.Account: %v", s.account.Name, err))
	}
}
