import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("threads", "0002_api_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotentReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('caller', models.CharField(max_length=80)),
                ('address', models.TextField()),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('body', models.BinaryField(default=b'')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name_plural': 'idempotent replies',
                'indexes': [models.Index(fields=['created_at'], name='idempotent_reply_by_age')],
                'constraints': [models.UniqueConstraint(fields=('caller', 'address', 'key'), name='idempotent_reply_once')],
            },
        ),
    ]
