// The JavaScript side of the exchange of messages: puts texts, or gets the messages of a queue and prints their texts.
const { QueueServiceClient } = require("@azure/storage-queue");

const queue = QueueServiceClient.fromConnectionString(process.env.CONNECTION).getQueueClient(process.env.TABLE);

async function write() {
  for (const text of JSON.parse(process.env.TEXTS)) await queue.sendMessage(text);
}

async function read() {
  const texts = [];
  const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
  for (const m of receivedMessageItems) {
    texts.push(m.messageText);
    const { popReceipt } = await queue.updateMessage(m.messageId, m.popReceipt, undefined, 60); // without a text
    await queue.deleteMessage(m.messageId, popReceipt);
  }
  console.log(JSON.stringify(texts));
}

({ write, read })[process.env.STEP]().catch((e) => { console.error(e); process.exit(1); });
