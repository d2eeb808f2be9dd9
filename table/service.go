package table

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Service hands out the SDK's clients by table name. *aztables.ServiceClient is one, however it was made.
type Service interface {
	NewClient(tableName string) *aztables.Client
}

var _ Service = (*aztables.ServiceClient)(nil)

// client is what the library uses of the SDK's client: public methods only.
type client interface {
	CreateTable(context.Context, *aztables.CreateTableOptions) (aztables.CreateTableResponse, error)
	GetEntity(ctx context.Context, partitionKey, rowKey string, o *aztables.GetEntityOptions) (aztables.GetEntityResponse, error)
	AddEntity(context.Context, []byte, *aztables.AddEntityOptions) (aztables.AddEntityResponse, error)
	UpdateEntity(context.Context, []byte, *aztables.UpdateEntityOptions) (aztables.UpdateEntityResponse, error)
	UpsertEntity(context.Context, []byte, *aztables.UpsertEntityOptions) (aztables.UpsertEntityResponse, error)
	DeleteEntity(ctx context.Context, partitionKey, rowKey string, o *aztables.DeleteEntityOptions) (aztables.DeleteEntityResponse, error)
	SubmitTransaction(context.Context, []aztables.TransactionAction, *aztables.SubmitTransactionOptions) (aztables.TransactionResponse, error)
	NewListEntitiesPager(*aztables.ListEntitiesOptions) *runtime.Pager[aztables.ListEntitiesResponse]
}

var _ client = (*aztables.Client)(nil)
