"""The memory of agents: what was said, and what of it should be remembered.

Everything that can be done with conversations is a verb of :class:`Memory`, and every
change to them goes through one. Arguments that are dictionaries may be written in
snake_case or in the wire's camelCase. Every refusal is a
:class:`~threads.errors.MemoryFault`; after one, nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from recall import listing, recalling, working_memory, writing
from recall.arguments import any_id, owner_id
from recall.asynchronous import twin
from recall.config import MemoryConfig
from recall.embedding import indexing
from recall.models import WorkingMemoryRevision
from recall.pagination import PerPage
from recall.results import CloneResult, RecallResult, ResourcePage, ThreadPage
from recall.semantic.hits import SearchResult
from recall.working_memory import WorkingMemoryState
from threads import lineage
from threads.errors import NotConfigured, ThreadNotFound
from threads.lineage import CloneRecord
from threads.models import Message, Resource, Thread
from threads.reach import Reach

Fields = Mapping[str, Any]
EVERYTHING = Reach.all()


class Memory:
    """Conversations, within the reach of one caller and under one configuration.

    Cheap to make and safe to share. ``config`` is a MemoryConfig or a dictionary of its
    options; ``reach`` limits everything to some resources, what lies outside looks as if
    it did not exist; ``author`` is noted with changes of working memory.

    A ``resource_id`` given to a verb about one thread asserts who owns it: OwnershipError
    when somebody else does. Writing verbs raise NotConfigured when the memory is
    ``read_only``.
    """

    def __init__(
        self,
        config: MemoryConfig | Fields | None = None,
        *,
        reach: Reach = EVERYTHING,
        author: str = "api",
    ) -> None:
        self.config = MemoryConfig.from_settings().merged(config, at="")
        self.reach = reach
        self.author = author

    def within(self, reach: Reach) -> Self:
        """The same memory for a caller with this reach."""
        return type(self)(self.config, reach=reach, author=self.author)

    # Recall

    def recall(
        self,
        thread_id: str | Sequence[str],
        resource_id: str | None = None,
        *,
        per_page: PerPage | None = None,
        page: int = 0,
        order_by: Fields | None = None,
        filter: Fields | None = None,
        include: Sequence[Fields] | None = None,
        vector_search_string: str | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> RecallResult:
        """A page of a thread's messages, with what was included and what was found.

        Without ``order_by`` page 0 holds the newest messages, oldest first; with
        ``{"field": "created_at", "direction": "ASC"|"DESC"}`` both the choice of pages
        and the order in them follow it. Equal times keep the order of insertion.
        ``per_page`` defaults to ``last_messages``; False is everything, 0 no page.

        ``filter`` narrows the page: ``{"date_range": {start, end, start_exclusive,
        end_exclusive}, "metadata": {key: scalar}, "roles": [...]}``, all of which must
        hold. ``include`` adds messages by id with neighbours of their own thread:
        ``{"id", "thread_id", "with_previous_messages", "with_next_messages"}``; an id
        that does not exist, or not within the resource, adds nothing.
        ``vector_search_string`` adds what semantic recall finds, if it is on. ``total``
        and ``has_more`` speak of the page alone.

        Several thread ids, all of one resource, are read as one history. Without ``resource_id``
        only the caller's reach limits what is included. An unknown thread is empty, or ThreadNotFound when a resource is named; OwnershipError when
        that resource does not own it; InvalidInput names a wrong field.
        """
        return recalling.recall(
            thread_id,
            resource_id,
            reach=self.reach,
            config=self.config.merged(config),
            per_page=per_page,
            page=page,
            order_by=order_by,
            filter=filter,
            include=include,
            vector_search_string=vector_search_string,
        )

    def recall_by_resource(
        self,
        resource_id: str,
        *,
        per_page: PerPage | None = None,
        page: int = 0,
        order_by: Fields | None = None,
        filter: Fields | None = None,
        include: Sequence[Fields] | None = None,
    ) -> RecallResult:
        """A page of the messages of all threads of a resource, oldest first.

        As :meth:`recall`, but 40 a page and beginning with the oldest unless
        ``order_by`` says otherwise. An unknown resource has none.
        """
        return recalling.recall_by_resource(
            resource_id,
            reach=self.reach,
            per_page=per_page,
            page=page,
            order_by=order_by,
            filter=filter,
            include=include,
        )

    def search(
        self,
        query: str,
        *,
        resource_id: str,
        thread_id: str | Sequence[str] | None = None,
        filter: Fields | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> SearchResult:
        """The messages of a resource that fit ``query`` by meaning and by words.

        Best first, with scores and reasons. ``thread_id`` limits the search to threads
        of the resource, ``filter`` (as for :meth:`recall`) which messages may be hits.
        """
        return recalling.search(
            query,
            resource_id=resource_id,
            thread_id=thread_id,
            filter=filter,
            reach=self.reach,
            config=self.config.merged(config),
        )

    # Threads

    def create_thread(
        self,
        *,
        resource_id: str,
        thread_id: str | None = None,
        title: str = "",
        metadata: Fields | None = None,
        title_source: str | None = None,
        created_at: datetime | str | None = None,
    ) -> Thread:
        """A new thread, or the existing one with title and metadata merged in.

        The resource is made when it is new. ``title_source`` defaults to ``user`` for a
        title and to ``none`` without. OwnershipError when the id is another resource's.
        """
        self._may_write()
        return writing.create_thread(
            self.reach,
            resource_id=resource_id,
            thread_id=thread_id,
            title=title,
            metadata=metadata,
            title_source=title_source,
            created_at=created_at,
        )

    def save_thread(self, thread: Thread | Fields) -> Thread:
        """As :meth:`create_thread`, from a thread or its fields, ``updated_at`` too."""
        self._may_write()
        return writing.save_thread(self.reach, thread)

    def get_thread(self, thread_id: str, *, resource_id: str | None = None) -> Thread:
        """The thread; ThreadNotFound when there is none, or not of this resource."""
        thread = self.get_thread_by_id(thread_id, resource_id=resource_id)
        if thread is None:
            raise ThreadNotFound(thread_id)
        return thread

    def get_thread_by_id(
        self, thread_id: str, *, resource_id: str | None = None
    ) -> Thread | None:
        """The thread; None when there is none, or not of this resource."""
        return listing.thread_by_id(self.reach, thread_id, resource_id)

    def list_threads(
        self,
        *,
        filter: Fields | None = None,
        page: int = 0,
        per_page: PerPage | None = None,
        order_by: Fields | None = None,
    ) -> ThreadPage:
        """A page of threads, newest first: 100 of them, or ``per_page`` (False: all).

        ``filter``: ``{"resource_id", "metadata": {key: scalar}, "archived": bool,
        "created": {start, end, …}, "updated": {…}}``. ``order_by``: ``{"field":
        "created_at"|"updated_at"|"last_message_at", "direction": "ASC"|"DESC"}``; ties
        by id in the same direction. Without a resource: all within reach.
        """
        return listing.list_threads(
            self.reach, filter=filter, page=page, per_page=per_page, order_by=order_by
        )

    def iter_threads(
        self, *, filter: Fields | None = None, order_by: Fields | None = None
    ) -> Iterator[Thread]:
        """All threads that match, one by one, in constant memory; by creation or update."""
        return listing.iter_threads(self.reach, filter=filter, order_by=order_by)

    def update_thread(
        self,
        thread_id: str,
        *,
        resource_id: str | None = None,
        title: str | None = None,
        metadata: Fields | None = None,
        expected_revision: int | None = None,
        title_source: str | None = None,
    ) -> Thread:
        """Sets the title and merges metadata, key by key; what is None stays.

        PreconditionFailed when the thread is no longer at ``expected_revision``.
        """
        self._may_write()
        return writing.update_thread(
            self.reach,
            thread_id,
            resource_id=resource_id,
            title=title,
            metadata=metadata,
            title_source=title_source,
            expected_revision=expected_revision,
        )

    def replace_thread(
        self,
        thread_id: str,
        *,
        resource_id: str | None = None,
        title: str = "",
        metadata: Fields | None = None,
        expected_revision: int | None = None,
        title_source: str | None = None,
    ) -> Thread:
        """As :meth:`update_thread`, but title and metadata become exactly these."""
        self._may_write()
        return writing.update_thread(
            self.reach,
            thread_id,
            resource_id=resource_id,
            title=title,
            metadata=metadata,
            title_source=title_source,
            expected_revision=expected_revision,
            replace=True,
        )

    def set_model_title(self, thread_id: str, title: str) -> bool:
        """Titles a thread that nobody has titled yet; False when that is not so."""
        self._may_write()
        return writing.set_model_title(self.reach, thread_id, title)

    def archive_thread(
        self, thread_id: str, *, resource_id: str | None = None
    ) -> Thread:
        """Puts the thread aside; one that is archived keeps its time."""
        self._may_write()
        return writing.archive_thread(
            self.reach, thread_id, archived=True, resource_id=resource_id
        )

    def unarchive_thread(
        self, thread_id: str, *, resource_id: str | None = None
    ) -> Thread:
        """Takes an archived thread back."""
        self._may_write()
        return writing.archive_thread(
            self.reach, thread_id, archived=False, resource_id=resource_id
        )

    def transfer_thread(
        self, thread_id: str, *, resource_id: str, from_resource_id: str | None = None
    ) -> Thread:
        """Gives the thread, its messages and what was derived of them to a resource."""
        self._may_write()
        return writing.transfer_thread(
            self.reach,
            thread_id,
            resource_id=resource_id,
            from_resource_id=from_resource_id,
        )

    def delete_thread(
        self,
        thread_id: str,
        *,
        resource_id: str | None = None,
        expected_revision: int | None = None,
    ) -> bool:
        """Removes the thread with everything in it; False when there was none.

        PreconditionFailed when the thread is not at ``expected_revision``.
        """
        self._may_write()
        return writing.delete_thread(
            self.reach,
            thread_id,
            resource_id=resource_id,
            expected_revision=expected_revision,
        )

    # Messages

    def save_messages(
        self,
        messages: Any,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        config: MemoryConfig | Fields | None = None,
        limited: bool = True,
    ) -> list[Message]:
        """Stores messages, all or none, and returns them as stored. At most 10,000.

        Each is text (a user's), a dictionary or a NewMessage; ``thread_id`` and
        ``resource_id`` serve those that name none. A known id is replaced and keeps its
        time and place; from another thread of the resource it moves here.
        ThreadNotFound for a missing thread; OwnershipError when a thread or a known id
        is another resource's; TooLarge for a message over the limit, which is for
        callers: a model's reply, stored as it was shown, is not ``limited``.
        """
        options = self._may_write(config)
        return writing.save_messages(
            self.reach,
            messages,
            thread_id=thread_id,
            resource_id=resource_id,
            limited=limited,
            then=lambda saved: indexing.messages_saved(
                saved, embed=options.semantic_recall is not None
            ),
        )

    def update_messages(self, messages: Sequence[Fields]) -> list[Message]:
        """Changes role, type, thread or content of existing messages, all or none.

        ``content.metadata`` is merged, ``content.parts`` replaced, the text derived
        anew. Unknown ids are passed over; the changed messages are returned.
        """
        self._may_write()
        return writing.update_messages(self.reach, messages, then=self._words_changed)

    def get_messages(self, ids: Sequence[str]) -> list[Message]:
        """The messages of these ids that exist, in order."""
        return listing.messages_by_id(self.reach, writing.message_ids(ids))

    def iter_messages(
        self,
        thread_id: str,
        *,
        filter: Fields | None = None,
        newest_first: bool = False,
    ) -> Iterator[Message]:
        """A thread's messages one by one, in constant memory, however many.

        ThreadNotFound when there is none.
        """
        return listing.iter_messages(
            thread_id, self.reach, filter=filter, newest_first=newest_first
        )

    def delete_messages(
        self, messages: Sequence[Any], *, resource_id: str | None = None
    ) -> int:
        """Removes messages by id (or objects with an ``id``); tells how many existed."""
        self._may_write()
        return writing.delete_messages(self.reach, messages, resource_id=resource_id)

    def delete_all_messages(
        self, thread_id: str, *, resource_id: str | None = None
    ) -> int:
        """Empties a thread; tells how many messages it had."""
        self._may_write()
        return writing.delete_all_messages(
            self.reach, thread_id, resource_id=resource_id
        )

    # Clones

    def clone_thread(
        self,
        source_thread_id: str,
        *,
        new_thread_id: str | None = None,
        resource_id: str | None = None,
        title: str | None = None,
        metadata: Fields | None = None,
        options: Fields | None = None,
    ) -> CloneResult:
        """Copies a thread: messages with their times and order under new ids.

        The copy is called ``Clone of …`` unless titled, and has the source's metadata
        with ``metadata`` and the record of its origin over it. ``options``:
        ``{"message_limit": newest so many, "message_filter": {"start_date", "end_date",
        "message_ids"}}``. Conflict when ``new_thread_id`` is taken.
        """
        self._may_write()
        return writing.clone_thread(
            self.reach,
            source_thread_id,
            new_thread_id=new_thread_id,
            resource_id=resource_id,
            title=title,
            metadata=metadata,
            options=options,
        )

    def is_clone(self, thread: Thread | None) -> bool:
        """Whether the thread was made by cloning."""
        return lineage.clone_record(thread) is not None

    def get_clone_metadata(self, thread: Thread | None) -> CloneRecord | None:
        """Where a clone comes from; None for an original."""
        return lineage.clone_record(thread)

    def get_source_thread(self, thread_id: str) -> Thread | None:
        """The thread that this one was cloned from, if it still exists."""
        return lineage.source_thread(any_id(thread_id, "thread_id"), self.reach)

    def list_clones(
        self, thread_id: str, resource_id: str | None = None
    ) -> list[Thread]:
        """The clones of a thread, oldest first: those of its owner, or of a resource."""
        return lineage.clones_of(
            any_id(thread_id, "thread_id"),
            self.reach,
            resource_id=owner_id(resource_id),
        )

    def get_clone_history(self, thread_id: str) -> list[Thread]:
        """The line of sources, oldest first, down to the thread itself."""
        return lineage.clone_history(any_id(thread_id, "thread_id"), self.reach)

    # Working memory

    def get_working_memory(
        self,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> WorkingMemoryState:
        """The notes kept about the resource, or about the thread, as configured.

        In scope ``resource`` name the resource or one of its threads, in scope
        ``thread`` the thread. ``value`` is None when nothing was written, and when
        working memory is off.
        """
        return working_memory.get_working_memory(
            self.reach,
            self.config.merged(config),
            thread_id=thread_id,
            resource_id=resource_id,
        )

    def update_working_memory(
        self,
        *,
        value: str | Fields | None = None,
        merge: str | Fields | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        author: str | None = None,
        author_name: str = "",
        message_id: str = "",
        expected_revision: int | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> WorkingMemoryState:
        """Writes the notes: ``value`` in place of what there was, or ``merge`` into it.

        With a template both replace the text. With a schema ``merge`` goes all the way
        down, ``None`` deletes a field, arrays are replaced. Every change is a revision
        by ``author``: user, model, tool, admin, api or import. PreconditionFailed when
        the notes are not at ``expected_revision``, NotConfigured when they are off.
        """
        return working_memory.update_working_memory(
            self.reach,
            self._may_write(config),
            value=value,
            merge=merge,
            thread_id=thread_id,
            resource_id=resource_id,
            author=self.author if author is None else author,
            author_name=author_name,
            message_id=message_id,
            expected_revision=expected_revision,
        )

    def list_working_memory_revisions(
        self,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> list[WorkingMemoryRevision]:
        """Every value that the notes had, newest first."""
        return working_memory.list_working_memory_revisions(
            self.reach,
            self.config.merged(config),
            thread_id=thread_id,
            resource_id=resource_id,
        )

    def restore_working_memory(
        self,
        revision: int,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        author: str | None = None,
        author_name: str = "",
        expected_revision: int | None = None,
        config: MemoryConfig | Fields | None = None,
    ) -> WorkingMemoryState:
        """Makes an earlier value of the notes the newest one, as a revision of its own.

        NotFound when there is no such revision.
        """
        return working_memory.restore_working_memory(
            self.reach,
            self._may_write(config),
            revision,
            thread_id=thread_id,
            resource_id=resource_id,
            author=self.author if author is None else author,
            author_name=author_name,
            expected_revision=expected_revision,
        )

    # Resources

    def get_resource(self, resource_id: str) -> Resource | None:
        """The owner of this id; None when nothing was ever kept for it."""
        return listing.resource_by_id(self.reach, resource_id)

    def list_resources(
        self, *, page: int = 0, per_page: PerPage | None = None
    ) -> ResourcePage:
        """A page of resources, newest first."""
        return listing.list_resources(self.reach, page=page, per_page=per_page)

    def update_resource(self, resource_id: str, *, metadata: Fields) -> Resource:
        """Merges metadata into a resource's, which is made when it is new."""
        self._may_write()
        return writing.update_resource(self.reach, resource_id, metadata=metadata)

    def delete_resource(self, resource_id: str) -> bool:
        """Removes a resource with everything of it; False when there was none."""
        self._may_write()
        return writing.delete_resource(self.reach, resource_id)

    # The same verbs for asynchronous callers

    arecall = twin(recall)
    arecall_by_resource = twin(recall_by_resource)
    asearch = twin(search)
    acreate_thread = twin(create_thread)
    aget_thread = twin(get_thread)
    aget_thread_by_id = twin(get_thread_by_id)
    alist_threads = twin(list_threads)
    aupdate_thread = twin(update_thread)
    aset_model_title = twin(set_model_title)
    adelete_thread = twin(delete_thread)
    asave_messages = twin(save_messages)
    aupdate_messages = twin(update_messages)
    aget_messages = twin(get_messages)
    adelete_messages = twin(delete_messages)
    aclone_thread = twin(clone_thread)
    aget_working_memory = twin(get_working_memory)
    aupdate_working_memory = twin(update_working_memory)

    def _may_write(self, config: MemoryConfig | Fields | None = None) -> MemoryConfig:
        options = self.config.merged(config)
        # A call may make a memory read-only, never the other way round.
        if options.read_only or self.config.read_only:
            raise NotConfigured("This memory is read-only")
        return options

    def _words_changed(self, messages: list[Message]) -> None:
        embed = self.config.semantic_recall is not None
        indexing.messages_saved(messages, embed=embed)
