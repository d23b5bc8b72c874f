"""The list of conversations beside the chat."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.utils import timezone

from agents.models import Run
from agents.studio.viewer import Viewer
from threads.errors import InvalidInput
from threads.models import Message, Thread

ROWS = 40
# Characters of the first message that stand in for a title.
FALLBACK_LENGTH = 60
MAX_CHANGES = 50


@dataclass(frozen=True)
class Row:
    """One thread of the list. ``group`` is set where a new group of days begins."""

    id: str
    title: str
    titled: bool
    running: bool
    archived: bool
    updated_at: datetime
    group: str = ""


@dataclass(frozen=True)
class Rows:
    """One page. ``cursor`` asks for the next, empty at the end."""

    rows: list[Row]
    cursor: str


def list_rows(
    viewer: Viewer, *, cursor: str = "", query: str = "", archived: bool = False
) -> Rows:
    """Threads of the viewer's resource, the last changed first, ``ROWS`` at a time.

    ``query`` keeps the titles that contain it, in any case. Threads that change while
    the list is being paged through move to its beginning, none is left out. Raises
    InvalidInput for a cursor that this function has not made.
    """
    threads = _threads(viewer).filter(archived_at__isnull=not archived)
    if query:
        threads = threads.filter(title__icontains=query.replace("\x00", ""))
    before = ""
    if cursor:
        moment, thread_id = _read_cursor(cursor)
        threads = threads.filter(
            Q(updated_at__lt=moment) | Q(updated_at=moment, id__lt=thread_id)
        )
        before = _group(moment, viewer.zone)
    found = list(_annotated(threads).order_by("-updated_at", "-id")[: ROWS + 1])
    rows = list(_grouped(found[:ROWS], before, viewer.zone))
    more = len(found) > ROWS
    return Rows(rows, _write_cursor(rows[-1]) if more else "")


def one_row(viewer: Viewer, thread_id: str) -> Row | None:
    """The row of one thread, wherever it stands."""
    found = _annotated(
        Thread.objects.filter(viewer.caller.reach.q(), id=thread_id)
    ).first()
    return _row(found) if found else None


def changed_rows(viewer: Viewer, since: datetime) -> list[Row]:
    """Threads of the viewer's resource that changed after ``since``, oldest first."""
    found = _annotated(_threads(viewer).filter(updated_at__gt=since))
    return [_row(t) for t in reversed(found.order_by("-updated_at")[:MAX_CHANGES])]


def shown_title(thread: Thread) -> str:
    """The title, or what stands in for it until there is one."""
    if thread.title.strip():
        return thread.title
    text = (
        Message.objects.filter(thread=thread, role=Message.Role.USER)
        .values_list("text", flat=True)
        .first()
    )
    return _fallback(text)


def _threads(viewer: Viewer) -> QuerySet[Thread]:
    return Thread.objects.filter(
        viewer.caller.reach.q(), resource_id=viewer.resource_id
    )


def _annotated(threads: QuerySet[Thread]) -> QuerySet[Thread]:
    first = Message.objects.filter(thread=OuterRef("pk"), role=Message.Role.USER)
    first = first.order_by("created_at", "position")
    active = Run.objects.filter(thread=OuterRef("pk"), state__in=Run.ACTIVE)
    return threads.annotate(
        first_words=Subquery(first.values(short=Left("text", 200))[:1]),
        running=Exists(active),
    ).only("id", "title", "title_source", "updated_at", "archived_at")


def _row(thread: Thread, group: str = "") -> Row:
    title = thread.title.strip()
    return Row(
        id=thread.id,
        title=title or _fallback(thread.first_words),
        titled=bool(title),
        running=thread.running,
        archived=thread.archived_at is not None,
        updated_at=thread.updated_at,
        group=group,
    )


def _fallback(text: str | None) -> str:
    words = " ".join((text or "").split())
    if len(words) <= FALLBACK_LENGTH:
        return words or "New conversation"
    cut = words[: FALLBACK_LENGTH + 1].rsplit(" ", 1)[0][:FALLBACK_LENGTH]
    return f"{cut}…"


def _grouped(threads: Iterable[Thread], before: str, zone: ZoneInfo) -> Iterable[Row]:
    for thread in threads:
        group = _group(thread.updated_at, zone)
        yield _row(thread, group if group != before else "")
        before = group


def _group(moment: datetime, zone: ZoneInfo) -> str:
    """The heading under which a thread of this moment stands, in the viewer's days."""
    today = timezone.now().astimezone(zone).date()
    day = moment.astimezone(zone).date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day >= today - timedelta(days=7):
        return "Previous 7 days"
    if day >= today - timedelta(days=30):
        return "Previous 30 days"
    return _month(day, today)


def _month(day: date, today: date) -> str:
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def _write_cursor(row: Row) -> str:
    text = f"{row.updated_at.isoformat()}|{row.id}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        moment, thread_id = base64.urlsafe_b64decode(cursor).decode().split("|", 1)
        when = datetime.fromisoformat(moment)
    except (ValueError, binascii.Error) as error:
        raise InvalidInput.of("cursor", "not a cursor of this list") from error
    if timezone.is_naive(when) or "\x00" in thread_id:
        raise InvalidInput.of("cursor", "not a cursor of this list")
    return when, thread_id
