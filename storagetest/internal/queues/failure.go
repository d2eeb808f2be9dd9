package queues

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// The failures of the Queue service, in the words of the live service.
var (
	errQueueExists       = xmlform.NewFailure(http.StatusConflict, "QueueAlreadyExists", "The specified queue already exists.")
	errQueueBeingDeleted = xmlform.NewFailure(http.StatusConflict, "QueueBeingDeleted", "The specified queue is being deleted.")
	errQueueNotFound     = xmlform.NewFailure(http.StatusNotFound, "QueueNotFound", "The specified queue does not exist.")
	errMessageNotFound   = xmlform.NewFailure(http.StatusNotFound, "MessageNotFound", "The specified message does not exist.")
	errReceiptMismatch   = xmlform.NewFailure(http.StatusBadRequest, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.")

	errMissingText = xmlform.NewFailure(http.StatusBadRequest, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.").
			With("<XmlNodeName>MessageText</XmlNodeName>")
	errMessageTooLarge = xmlform.ErrBodyTooLarge.With("<MaxLimit>%d</MaxLimit>", maxMessage)
)

// maxMessage is the maximum length of a message's text in bytes.
const maxMessage = 64 << 10
